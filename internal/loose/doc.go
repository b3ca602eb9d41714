// Package loose reads messages whose members have other types than schema.ts defines: results,
// notifications and requests of servers, and results of clients. It converts them to the form of
// schema.ts.
//
// [Fits] checks a message in one pass without allocations; nearly all messages fit. [Mend] returns
// a copy of a message that does not fit. It converts values whose meaning is clear, and drops
// unreadable ones. It reports each kind of conversion as a tolerance of package tolerance. [Answer]
// does both for the result of a client. Members that schema.ts does not define stay unchanged.
package loose
