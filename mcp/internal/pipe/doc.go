// Package pipe is the client's end of a connection on which everything arrives
// on one channel. [New] makes a link of a pair of byte streams that carry lines
// of JSON; an [Inbox] is the receiving half alone, for links that send in
// another way.
//
// Servers in the wild print banners and logs between their messages, number
// their responses with strings, and answer twice. What has one meaning only is
// understood; what has none is skipped and logged.
package pipe
