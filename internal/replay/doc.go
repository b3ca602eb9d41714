// Package replay plays a model over the real wires: chat completions at any path that
// ends in /chat/completions, OpenAI's responses at /responses, and Anthropic's messages
// at /messages, all of them streamed.
// It is for tests: everything between a program and a provider runs, and no provider
// is needed.
//
// A recording is a list of [Turn]: what each request must hold, and what it is
// answered. It need not hold the answer: [Turn.Then] makes texts and arguments from
// the results that the real tools returned.
//
// Which turn is played follows from the request alone: the number of the assistant's
// messages in it. So requests may be repeated, several conversations may run at once,
// and a conversation may go on in another process. A tool is offered under its name or
// under a longer one that ends in __ and its name.
//
// A request that does not fit gets a status of 400 that says why, and so does one
// that a strict provider would refuse ([model.Check]). Where tools are written into
// the system prompt (package injected), calls are written into the text.
package replay
