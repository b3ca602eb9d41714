// Package postgres stores state in PostgreSQL 14 and later, for the replicas of a program on several
// machines. It makes the tables that it needs, whose names begin with junction_, in the first schema
// of the user's search_path.
//
// A URL is that of PostgreSQL: postgres://USER:PASSWORD@HOST:5432/DATABASE, with several hosts and
// target_session_attrs=read-write for servers that fail over, and sslmode, sslrootcert, sslcert and
// sslkey for TLS. Without sslmode, a host that is not this machine must have a valid certificate
// (verify-full).
//
// PgBouncer in transaction mode may be in between. Hints do not pass it, so give the parameter
// listen=HOST:PORT, the server's own address; without it subscribers only receive hints of their
// own process.
//
// # Guarantees
//
// One statement makes each change and checks its lease; both are in one transaction. A caller whose
// lease was given to another one cannot write, and Acquire waits for a write that has begun. A
// failover to a replica that is not synchronous may lose the last changes, leases included; versions
// also have the time, and tokens and positions are microseconds of the server's clock, or one more
// than the last if that is larger, so they do not go back then, if the clocks agree.
//
// Times to live run on the server's clock. Each [Store] removes what has expired every minute, at
// most some thousand rows at a time.
//
// # Speed
//
// 16 callers on two busy processors, which the server shares, do 12,000 Get a second (99 of 100
// within 16 ms), 4,300 CompareAndSwap (20 ms) and 3,300 Append (25 ms) of 200 bytes, without waiting
// for a disk. Benchmarks of integration measure that.
//
// The client library is pgx, which says whether a write can have reached the server. lib/pq is as
// fast, but with it database/sql silently repeats a write whose confirmation was lost. pgx makes
// junction 3.5 MB larger, and takes 8 s of CPU in the first build.
package postgres
