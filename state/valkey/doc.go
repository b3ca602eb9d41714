// Package valkey stores state in Valkey (7.2 and later) or Redis (7 and later), for the replicas of
// a program on several machines.
//
// # Servers
//
// A URL has the scheme valkey or redis, or valkeys or rediss for TLS:
//
//	valkey://USER:PASSWORD@HOST:6379/DATABASE
//	valkey://HOST1:26379,HOST2:26379?sentinel=NAME      the primary that Sentinels name
//	valkey://HOST1:6379,HOST2:6379?cluster=true         a Cluster, of which some nodes are enough
//
// Further parameters are sentinelUser and sentinelPassword, if the Sentinels have a password; ca,
// cert and key, the files of TLS; and prefix, with which all keys begin (default "junction").
//
// The server must not evict keys (maxmemory-policy noeviction). If its memory is full, writes fail
// with [state.ErrFull]. An ACL needs the commands @read, @write, @scripting, @pubsub, @connection,
// TIME and INFO, the keys {PREFIX/* and the channel PREFIX/hints.
//
// # Guarantees
//
// A script makes each change, so a change is atomic, and its lease is checked with it. The text of a
// key up to its first slash decides its hash slot. All keys with the same such text are in one slot,
// and a lease can protect only those of its own.
//
// Versions, tokens and positions are microseconds of the server's clock, or one more than the last
// number if that is larger. So they do not go back if a failover loses the last writes, unless the
// new primary's clock is behind by more than the time that the failover took.
//
// While a Cluster moves a hash slot key by key, most operations on it fail with [state.ErrUnavailable],
// until all of its keys are at one server again.
//
// Servers copy writes to replicas after they have confirmed them. A failover can thus lose the last
// of them, a lease included: two callers can then believe to have the lease, but the new primary
// only accepts the writes of the one with the larger token. An old primary that is cut off goes on
// accepting writes of clients that still reach it, and loses them later; min-replicas-to-write and
// min-replicas-max-lag bound that time.
//
// Times to live run on the server's clock, so clients' clocks do not matter.
//
// # Speed
//
// 16 callers on two processors, which the server shares, do 104,000 Get a second (99 of 100 within
// 0.5 ms), 44,000 CompareAndSwap (0.7 ms) and 49,000 Append (0.6 ms) of 200 bytes; with appendonly
// 49,000, 13,000 and 37,000. Benchmarks of integration measure that.
//
// The client library is rueidis: with 16 callers a script costs it 7.7 µs of CPU, and go-redis 13.3.
// It makes junction 0.5 MB larger, and takes 14 s of CPU in the first build (go-redis 18 s).
package valkey
