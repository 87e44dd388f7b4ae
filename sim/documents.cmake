# SPDX-License-Identifier: BSD-3-Clause
# What a wheel carries beside the package, in keepon/doc: README, changelog, documents and examples, laid out as in the
# checkout so that their links hold. An editable package has the checkout itself.
set(KEEPON_DOC keepon/doc)
file(GLOB KEEPON_DOCUMENTS CONFIGURE_DEPENDS ../docs/*.md ../docs/*.svg)
file(GLOB KEEPON_EXAMPLES CONFIGURE_DEPENDS ../examples/*.toml ../examples/*/*.toml)
install(FILES ../README.md ../CHANGELOG.md DESTINATION ${KEEPON_DOC} COMPONENT python)
install(FILES ${KEEPON_DOCUMENTS} DESTINATION ${KEEPON_DOC}/docs COMPONENT python)

# Editors find the schema of an example by the way that its first line names.
foreach(example IN LISTS KEEPON_EXAMPLES)
	file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR}/../examples ${example})
	get_filename_component(folder examples/${name} DIRECTORY)
	file(READ ${example} text)
	string(REPLACE "python/src/keepon/" "../" text "${text}")
	file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/examples/${name} "${text}")
	install(FILES ${CMAKE_CURRENT_BINARY_DIR}/examples/${name} DESTINATION ${KEEPON_DOC}/${folder} COMPONENT python)
endforeach()
