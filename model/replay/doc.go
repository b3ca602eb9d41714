// Package replay plays a recorded exchange with a model over the real wires: chat
// completions at any path that ends in /chat/completions, and Anthropic's messages
// at /messages, streamed or whole. It is for tests, of Junction and of what is
// built on it: everything between a program and a provider runs, and no provider
// is needed.
//
// A recording is JSON: what each request must hold, and what it is answered.
//
//	{"turns": [
//	  {"expect": {"last": "user", "contains": ["alarm"], "tools": ["query"]},
//	   "calls":  [{"name": "query", "arguments": {"sql": "select …"}}]},
//	  {"expect": {"last": "tool", "contains": ["LINK_DOWN"]},
//	   "calls":  [{"name": "write_file", "arguments": {"path": "a.csv", "content": "${csv(result)}"}}]},
//	  {"text":   "Wrote ${len(result[0])} rows."}
//	]}
//
// The recording need not hold the answer: texts and arguments can be made from
// the results that the real tools returned, with expressions in ${…}:
//
//	result          the text of the last result; result[0] is the first of the
//	                conversation, result[-2] the last but one
//	result.a[0].b   a value in it: JSON, also with text around it
//	csv(x)          a list of objects, or of lists, as CSV
//	len(x)          how many members a list has
//	match(x, `…`)   the first group of a regular expression, or all it matches
//
// A string that is one expression and nothing else becomes the value itself, a
// number for example. Which turn is played follows from the request alone: the
// number of the assistant's messages in it. So requests may be repeated, and
// several conversations may run at once. A tool is offered under its name or
// under a longer one that ends in __ and its name.
//
// A request that does not fit gets a status of 400 that says why, and so does one
// that a strict provider would refuse ([model.Check]). Where tools are written into
// the system prompt (package injected), calls are written into the text.
package replay
