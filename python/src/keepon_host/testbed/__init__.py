# SPDX-License-Identifier: BSD-3-Clause
"""A planned run on this machine's own interfaces: stations are set up, frames sent and heard, files
left, and everything put back.

It needs the standard library only, Linux's own programs and ours. What is to be done is a `Job`;
keepon.targets.host makes one of a plan, and judges the files.
"""
