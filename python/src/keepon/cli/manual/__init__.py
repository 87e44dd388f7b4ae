# SPDX-License-Identifier: BSD-3-Clause
"""Pages for man(1), made from the commands, the help of the tools and the schema of scenarios."""
