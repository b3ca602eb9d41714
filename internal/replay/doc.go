// Package replay simulates a model in the real wire formats, all of them streamed: chat completions
// at any path that ends in /chat/completions, OpenAI's responses at /responses, and Anthropic's
// messages at /messages. It serves tests: all code between a program and a provider runs, without a
// provider.
//
// A recording is a list of [Turn]: conditions on each request, and its response. The response can
// depend on results: [Turn.Then] makes texts and arguments from the results of the real tools.
//
// The request alone determines the turn, by the number of the assistant's messages in it. So
// requests may be repeated, several conversations may run at once, and a conversation may continue
// in another process. A tool is offered under its name or a longer one that ends in __ and its
// name.
//
// A request that does not meet the conditions gets the status 400 with the reason, and so does one
// that a strict provider would refuse ([model.Check]). If tools are in the system prompt (package
// injected), calls are written into the text.
package replay
