// Package loose reads the results, notifications and requests of servers, and the results of clients, whose members have other
// types than schema.ts, and returns them as schema.ts has them.
//
// [Fits] looks through a message once and allocates nothing; nearly all messages fit. [Mend] returns a copy of one that
// does not: values that stand for what is expected are replaced, what cannot be read is left out, and each case is named
// by a row of package tolerance. [Answer] is both for a client's result. Members that schema.ts does not have stay as they are.
package loose
