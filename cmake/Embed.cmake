# umavez_embed(TARGET target FILES a.sql b.lua ...)
#
# Turns each text file into a C string, so that what ships is what psql and redis-cli can run.
# relay/sql/tick.sql becomes `extern const char relay_sql_tick_sql[];`, declared in the generated
# header "<target>_text.h", which the target (and whoever links it) can include.
function(umavez_embed)
	cmake_parse_arguments(E "" "TARGET" "FILES" ${ARGN})
	set(out ${CMAKE_CURRENT_BINARY_DIR}/embed)
	set(paths)
	foreach(f ${E_FILES})
		list(APPEND paths ${CMAKE_CURRENT_SOURCE_DIR}/${f})
	endforeach()
	add_custom_command(
		OUTPUT ${out}/${E_TARGET}_text.c ${out}/${E_TARGET}_text.h
		COMMAND ${CMAKE_COMMAND} -DNAME=${E_TARGET} -DOUT=${out} -DROOT=${CMAKE_SOURCE_DIR}
			"-DFILES=${paths}" -P ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake
		DEPENDS ${paths} ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake
		VERBATIM)
	target_sources(${E_TARGET} PRIVATE ${out}/${E_TARGET}_text.c)
	target_include_directories(${E_TARGET} PUBLIC ${out})
endfunction()
