# SPDX-License-Identifier: BSD-3-Clause
"""Studies of ring partitions: which sets of flows have one, and how long it takes to know (KeepON
paper section A.8).

`settings`: what a study can be set to; `sets`: the sets of flows; `deciding`: how one is decided;
`experiment`: all of them; `counts`: what was found, counted; `fig27` and `schedulability`: what
comes out as a document.
"""
