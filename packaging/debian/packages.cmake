# One package a component.  Installed below /usr, whatever the build's own prefix is.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "umavez maintainers <maintainers@umavez.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON) # /etc is not below it
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL producer relay consumer umavez)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# deb_package(COMPONENT NAME SUMMARY SCRIPT...)
macro(deb_package COMPONENT NAME SUMMARY)
	string(TOUPPER ${COMPONENT} upper)
	set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${NAME})
	set(CPACK_COMPONENT_${upper}_DESCRIPTION "${SUMMARY}
umavez takes the notifications of App Store, Google Play and Stripe about
in-app purchases, and makes each of them take effect once.")
	set(scripts)
	foreach(source ${ARGN})
		get_filename_component(name ${source} NAME)
		configure_file(debian/${source}.in debian/${COMPONENT}/${name} @ONLY)
		list(APPEND scripts ${CMAKE_CURRENT_BINARY_DIR}/debian/${COMPONENT}/${name})
	endforeach()
	set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${scripts}")
	install(FILES debian/copyright DESTINATION share/doc/${NAME} COMPONENT ${COMPONENT})
endmacro()

deb_package(umavez umavez "operator's tool of umavez" umavez/postinst postrm)
set(CPACK_DEBIAN_UMAVEZ_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers")
foreach(service producer relay consumer)
	set(SERVICE ${service})
	deb_package(${service} umavez-${service} "${service} of umavez"
		service/conffiles service/postinst service/prerm postrm)
	string(TOUPPER ${service} upper)
	# Schema, tool and services are of one version; and the tool's package makes the user.
	set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "umavez (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_DEBIAN_PRODUCER_PACKAGE_RECOMMENDS ca-certificates)

include(CPack)
