# Run once, when the cluster is made: the owner of umavez's schemas, which is no superuser, and a login role
# for each service, a member of the group role that `umavez migrate --roles` gives its rights to.
password_of() { sed -E 's|^[^:]+://[^:]+:([^@]+)@.*|\1|' "/run/secrets/$1_database_url"; }

{
	echo "CREATE ROLE umavez_owner LOGIN PASSWORD '$(password_of owner)';"
	echo 'CREATE ROLE umavez_emitter NOLOGIN;'
	for role in producer relay consumer operator; do
		echo "CREATE ROLE umavez_$role NOLOGIN;"
		echo "CREATE ROLE $role LOGIN PASSWORD '$(password_of $role)' IN ROLE umavez_$role;"
	done
	echo 'CREATE DATABASE umavez OWNER umavez_owner;'
} | psql -X -q -v ON_ERROR_STOP=1 -U "${POSTGRES_USER:-postgres}" -d postgres
