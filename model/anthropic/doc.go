// Package anthropic adapts package model to the messages API of Anthropic. It does not use
// Anthropic's library, which takes minutes and 2.5 GB to compile. Even with the library, unknown
// members would have to be read from the raw JSON.
//
// Answers are streamed. Thinking, and blocks that only the provider understands, are kept as
// received. They are sent back to this provider unchanged and in order, and never to another one.
// The thinking of other providers is not sent here. Cache marks are set after the cached tools, the
// system prompt, and the last turn of the user.
//
// The environment is not read, so that the key of one user cannot end up in the requests of
// another. Retrying is left to model.Retrying. Only a request that was refused because of one tool
// is repeated without that tool.
package anthropic
