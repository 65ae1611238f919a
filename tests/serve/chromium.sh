#!/bin/sh
# The tests of the page need Chromium: this installs it where that is possible, and else says what is skipped.
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing Chromium for the tests of the page"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium >/dev/null 2>&1 && exit 0
fi
echo "skipped: the tests of the page in a browser, because Chromium is not installed and cannot be installed here"
