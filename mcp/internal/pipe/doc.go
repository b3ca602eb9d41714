// Package pipe implements the client side of a connection with a single channel. [New] makes a link
// from a pair of byte streams that transfer lines of JSON. An [Inbox] is the receiving half, for
// links that send in another way.
//
// Real servers print banners and logs between their messages, use strings as the ids of responses,
// and respond twice. The package accepts input that has only one possible meaning. It skips and
// logs other input.
package pipe
