-- Whatever DEFAULT holds: unlike a service, whoever runs this has chosen the time.
SELECT intake.make_partitions(default_bytes => 9223372036854775807)
