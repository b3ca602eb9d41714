package postgres

// now is the server's clock in microseconds.
const now = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// held begins each statement that a lease can protect. $1 is the name of the lease and $2 its token,
// or 0. It locks the lease until the statement is done, so that nobody acquires it meanwhile.
const held = `
	WITH hold AS MATERIALIZED (
		SELECT 1 FROM junction_leases WHERE name = $1::bytea AND token = $2::bigint AND until IS NOT NULL FOR SHARE
	), held AS MATERIALIZED (
		SELECT $2::bigint = 0 OR EXISTS (SELECT 1 FROM hold) AS yes
	)`

// newVersion is a version that was never issued, even if a failover took the sequence back.
const newVersion = `to_hex(` + now + `) || '-' || nextval('junction_versions')`

// lasting returns when something ends that was given microseconds to live, or 0 for ever.
func lasting(argument string) string {
	return `CASE WHEN ` + argument + `::bigint > 0 THEN clock_timestamp() + ` + argument + `::bigint * interval '1 microsecond' END`
}

// insertEntry has the key $3, the value $4 and the time to live $5.
var insertEntry = held + `, done AS (
		INSERT INTO junction_entries AS e (key, value, version, expires)
		SELECT $3::bytea, $4::bytea, ` + newVersion + `, ` + lasting("$5") + ` FROM held WHERE yes
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`

// entryDone ends statements that write an entry: was the lease held, and which version is new?
const entryDone = `
		RETURNING version
	) SELECT yes, (SELECT version FROM done) FROM held`

var (
	putEntry    = insertEntry + entryDone
	createEntry = insertEntry + ` WHERE e.expires <= clock_timestamp()` + entryDone
	// swapEntry has the old version $6, too.
	swapEntry = held + `, done AS (
		UPDATE junction_entries SET value = $4::bytea, version = ` + newVersion + `, expires = ` + lasting("$5") + `
		WHERE key = $3::bytea AND version = $6::text AND (expires IS NULL OR expires > clock_timestamp()) AND (SELECT yes FROM held)` + entryDone
	deleteEntry = held + `, done AS (
		DELETE FROM junction_entries WHERE key = $3::bytea AND (SELECT yes FROM held)
	) SELECT yes FROM held`

	// acquireLease has the name $1 and the time to live $2.
	acquireLease = `
	INSERT INTO junction_leases AS l (name, token, until, changed)
	VALUES ($1::bytea, ` + now + `, ` + lasting("$2") + `, clock_timestamp())
	ON CONFLICT (name) DO UPDATE SET token = greatest(l.token + 1, ` + now + `), until = ` + lasting("$2") + `, changed = clock_timestamp()
	WHERE l.until IS NULL OR l.until <= clock_timestamp()
	RETURNING token`
	// renewLease has the name $1, the token $2 and the time to live $3.
	renewLease = `UPDATE junction_leases SET until = ` + lasting("$3") + `, changed = clock_timestamp()
	WHERE name = $1::bytea AND token = $2::bigint AND until > clock_timestamp()`
	releaseLease = `UPDATE junction_leases SET until = NULL, changed = clock_timestamp() WHERE name = $1::bytea AND token = $2::bigint`

	// appendRecord has the key $3, the value $4 and the time to live $5.
	appendRecord = held + `, head AS (
		INSERT INTO junction_logs AS l (key, last, trimmed, expires)
		SELECT $3::bytea, clock.now, clock.now - 1, ` + lasting("$5") + ` FROM held, (SELECT ` + now + ` AS now) clock WHERE yes
		ON CONFLICT (key) DO UPDATE SET last = greatest(l.last + 1, ` + now + `), expires = ` + lasting("$5") + `,
			trimmed = CASE WHEN l.expires <= clock_timestamp() THEN l.last ELSE l.trimmed END,
			stale = l.stale OR coalesce(l.expires <= clock_timestamp(), false)
		RETURNING last
	), record AS (
		INSERT INTO junction_records (key, position, value) SELECT $3::bytea, last, $4::bytea FROM head
	) SELECT yes, (SELECT last FROM head) FROM held`
	// readRecords has the key $1, the position $2, the number of records $3 and their bytes $4.
	readRecords = `
	SELECT l.trimmed, r.position, r.value
	FROM junction_logs l LEFT JOIN LATERAL (
		SELECT position, value FROM (
			SELECT position, value, sum(octet_length(value)) OVER (ORDER BY position) - octet_length(value) AS before
			FROM (SELECT position, value FROM junction_records
				WHERE key = $1::bytea AND position > greatest(l.trimmed, $2::bigint) ORDER BY position LIMIT $3::bigint) page
		) sized WHERE before < $4::bigint
	) r ON true
	WHERE l.key = $1::bytea AND (l.expires IS NULL OR l.expires > clock_timestamp())
	ORDER BY r.position`
	// trimLog has the key $3, the number of records $4, their bytes $5 and their age $6 in
	// microseconds.
	trimLog = held + `, cut AS MATERIALIZED (
		SELECT max(position) AS last FROM (
			SELECT position, time, row_number() OVER newest AS count, sum(octet_length(value)) OVER newest AS bytes
			FROM junction_records WHERE key = $3::bytea AND (SELECT yes FROM held) WINDOW newest AS (ORDER BY position DESC)
		) sized WHERE $4::bigint > 0 AND count > $4::bigint OR $5::bigint > 0 AND bytes > $5::bigint
			OR $6::bigint > 0 AND time <= clock_timestamp() - $6::bigint * interval '1 microsecond'
	), head AS (
		UPDATE junction_logs SET trimmed = greatest(trimmed, cut.last) FROM cut WHERE key = $3::bytea AND cut.last IS NOT NULL
	), gone AS (
		DELETE FROM junction_records USING cut WHERE key = $3::bytea AND position <= cut.last
	) SELECT yes FROM held`
	// endLog has the key $3. The sweeper removes the records.
	endLog = held + `, done AS (
		UPDATE junction_logs SET trimmed = last, stale = true, expires = clock_timestamp() WHERE key = $3::bytea AND (SELECT yes FROM held)
	) SELECT yes FROM held`
)

// sweeps remove what has expired, each at most $1 rows. Tokens of leases stay for a day, so that
// they do not go back with the clock.
var sweeps = []string{
	`DELETE FROM junction_entries WHERE key IN (
		SELECT key FROM junction_entries WHERE expires <= clock_timestamp() ORDER BY expires LIMIT $1::bigint FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM junction_leases WHERE name IN (
		SELECT name FROM junction_leases WHERE changed <= clock_timestamp() - interval '1 day'
			AND (until IS NULL OR until <= clock_timestamp() - interval '1 day') LIMIT $1::bigint FOR UPDATE SKIP LOCKED)`,
	`UPDATE junction_logs SET trimmed = last, stale = true WHERE key IN (
		SELECT key FROM junction_logs WHERE expires <= clock_timestamp() AND NOT stale LIMIT $1::bigint FOR UPDATE SKIP LOCKED)`,
	`DELETE FROM junction_records WHERE (key, position) IN (
		SELECT r.key, r.position FROM junction_logs l JOIN junction_records r ON r.key = l.key AND r.position <= l.trimmed
		WHERE l.stale LIMIT $1::bigint)`,
	`DELETE FROM junction_logs l WHERE key IN (
		SELECT key FROM junction_logs WHERE stale AND expires <= clock_timestamp() LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
		AND expires <= clock_timestamp() AND NOT EXISTS (SELECT 1 FROM junction_records r WHERE r.key = l.key AND r.position <= l.trimmed)`,
	`UPDATE junction_logs l SET stale = false WHERE key IN (
		SELECT key FROM junction_logs WHERE stale AND (expires IS NULL OR expires > clock_timestamp()) LIMIT $1::bigint FOR UPDATE SKIP LOCKED)
		AND NOT EXISTS (SELECT 1 FROM junction_records r WHERE r.key = l.key AND r.position <= l.trimmed)`,
}
