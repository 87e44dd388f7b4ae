# SPDX-License-Identifier: BSD-3-Clause
"""Published experiments made again with Keepon, the published figures beside ours; package keepon
knows of it by entry points alone (pyproject.toml).

`keepon reproduce NAME` gives one document, table and report for every published figure in
`registry`. A study (`study.Study`) is a title, settings, where their defaults come from, and a
function from settings to parts of a document; `spread` does its independent pieces of work on all
processors or a cluster. To add one, write it in a module named after its figure and give it a name
in `registry`; reading of settings, tables, JSON, HTML and plots follow.
"""
