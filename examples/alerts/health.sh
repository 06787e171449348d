#!/bin/sh
# Writes the health of tables for the textfile collector of node_exporter, and says what is wrong by its exit code.
# In a crontab, every ten minutes:
#
#   */10 * * * * /opt/lakebed/health.sh /var/lib/node_exporter/lakebed.prom --catalog lake shop.orders shop.clicks
set -u
file=$1
shift
# A table that cannot be read is in the file too, as lakebed_up 0: the exit code is for whoever reads cron's mail.
exec lakebed health "$@" -o openmetrics --output-file "$file"
