// Package wiretest tests the adapters of package model with the streams in their testdata. Each
// stream names its origin. A synthetic one was written by hand, from published formats and from
// errors in issue reports. A published one names its URL, and a recorded one the server and the
// day. Each is a txtar file:
//
//	a description, with the provider of the format
//	synthetic, published: URL, or recorded: SERVER, DAY
//	-- options.json --   further options of the adapter; may be missing
//	-- request.json --   the model.Request; missing is one message of a user
//	-- sent.json --      must be within the request sent: objects may have more
//	                     members there, and null excludes a member
//	-- answer.http --    status line and headers; missing is 200 and an event stream
//	-- body --           the provider's answer; or body.quoted, Go strings, one
//	                     on each line, for bytes that a text file cannot hold
//	-- response.json --  the result of Generate
//	-- deltas.txt --     the emitted deltas, pieces of the same kind joined
//
// With -update the tests write the last two files. Review these changes.
//
// Every body is sent whole, byte by byte, and in two parts split at every byte. The outcome must
// always be the same. Then the body is cut off at every byte. The outcome must be an error or an
// answer, in both cases with a message that can be kept.
package wiretest
