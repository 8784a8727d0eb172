# make check-house
SCRIPT_TESTS += tests/house/floors.sh tests/house/order.sh tests/house/install.sh tests/house/style.sh
EXTRA_DIST += tests/house/chroot.sh
