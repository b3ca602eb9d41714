// Package loose reads the results, notifications and requests of servers, and the results of
// clients, whose members have other types than in schema.ts. It returns them in the form of
// schema.ts.
//
// [Fits] checks a message in one pass without allocating; nearly all messages fit. [Mend] returns a
// copy of one that does not. It converts values with a recognizable meaning and drops unreadable
// ones. It names each case by a row of package tolerance. [Answer] does both for a client's result.
// Members that are not in schema.ts stay unchanged.
package loose
