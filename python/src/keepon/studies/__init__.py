# SPDX-License-Identifier: BSD-3-Clause
"""`keepon reproduce NAME`: one document, table and report for every published figure that is registered here.

A study is a function from settings to a `study.Document`. To add one, write it anywhere, import it in `registry` and
give it a name there; tables, JSON, HTML and plots follow from the document.
"""
