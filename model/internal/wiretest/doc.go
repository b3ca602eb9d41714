// Package wiretest tests the adapters of package model on the streams in their testdata. Each says
// where it comes from: it is synthetic, which means written by hand after the formats
// that providers publish and the faults that issues report; or published, and where;
// or recorded, from which server and on which day. Each is a txtar file:
//
//	what it is, and whose format
//	synthetic, published: URL, or recorded: SERVER, DAY
//	-- options.json --   further options of the adapter; may be missing
//	-- request.json --   the model.Request; missing is one message of a user
//	-- sent.json --      must be within what was sent: objects may have more
//	                     members there, and null says that there is none
//	-- answer.http --    status line and headers; missing is 200 and an event stream
//	-- body --           what the provider answers; or body.quoted, Go strings, one
//	                     on each line, for bytes that a text file cannot hold
//	-- response.json --  what Generate returned
//	-- deltas.txt --     what was emitted, pieces of the same thing joined
//
// The last two are written by the tests themselves when they run with -update,
// and read by whoever did that.
//
// Every body is answered whole, byte by byte, and in parts with a border at every byte,
// and the outcome must be the same each time. Then it
// is cut off at every byte, and the outcome must be an error or an answer, with a
// message that can be kept either way.
package wiretest
