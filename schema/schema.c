#include "schema/schema.h"

#include "schema_text.h"

#include <stddef.h>

const struct schema_file schema_files[] = {
    {1, "intake", "001_intake_tables.sql", schema_001_intake_tables_sql},
    {2, "intake", "002_intake_receive.sql", schema_002_intake_receive_sql},
    {3, "intake", "003_intake_ticks.sql", schema_003_intake_ticks_sql},
    {4, "effects", "004_effects_tables.sql", schema_004_effects_tables_sql},
    {5, "effects", "005_effects_apply.sql", schema_005_effects_apply_sql},
    {6, "effects", "006_effects_park.sql", schema_006_effects_park_sql},
    {7, "intake", "007_intake_repair.sql", schema_007_intake_repair_sql},
    {8, "intake", "008_intake_partitions.sql", schema_008_intake_partitions_sql},
    {9, "effects", "009_effects_purge.sql", schema_009_effects_purge_sql},
    {10, "intake", "010_intake_retention.sql", schema_010_intake_retention_sql},
    {0, NULL, NULL, NULL},
};

const char *const schema_roles = schema_roles_sql;
