# SPDX-License-Identifier: BSD-3-Clause
"""Pages for man(1), made of what is told elsewhere: the commands, the help of the tools, the schema
of scenarios.
"""
