// Package pipe implements the client's end of a connection with a single channel. [New] makes a
// link of a pair of byte streams that carry lines of JSON. An [Inbox] is the receiving half for
// links that send in another way.
//
// Real servers print banners and logs between their messages, use strings as the ids of responses,
// and respond twice. Input with only one possible meaning is accepted; the rest is skipped and
// logged.
package pipe
