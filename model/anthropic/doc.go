// Package anthropic is the adapter of package model for the messages API of
// Anthropic. It does without Anthropic's library, which takes minutes and 2.5 GB to
// compile, for types whose unknown members have to be read from the raw JSON anyway.
//
// Answers are streamed. Thinking and the blocks that only the provider
// understands are kept as they came and sent back unchanged and in order, and
// never to another provider; what other providers thought is not sent here. The
// end of what stays the same is marked for the prompt cache: the cached tools,
// the system prompt, and the last turn of the user.
//
// Nothing is read from the environment: the key of one user must not end up in the
// requests of another. Nothing is retried either, which is the business of
// model.Retrying; only a request that was refused because of one tool is made
// again without it.
package anthropic
