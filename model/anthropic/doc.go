// Package anthropic adapts package model to the messages API of Anthropic. It does not use
// Anthropic's library. That takes minutes and 2.5 GB to compile, and unknown members would still
// have to be read from the raw JSON.
//
// Answers are streamed. Thinking, and blocks that only the provider understands, are kept as
// received. They are sent back unchanged and in order, and never to another provider. The thinking
// of other providers is not sent here. The end of the constant prefix is marked for the prompt
// cache: after the cached tools, the system prompt, and the last turn of the user.
//
// The environment is not read, so that the key of one user cannot end up in the requests of
// another. Requests are not retried, which is the task of model.Retrying. Only a request that was
// refused because of one tool is repeated without it.
package anthropic
