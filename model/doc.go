// Package model puts language models behind one small interface: a
// conversation and a list of tools go in, the next message comes out, piece by
// piece while it is made.
//
// The adapters are packages of their own: model/openai for chat completions
// (OpenAI and everything that speaks like it), model/responses for OpenAI's newer
// API, model/anthropic for messages, model/injected for models without function
// calling, and model/offline, which is no language model and needs neither network
// nor key.
//
// A message keeps what its provider put into it and this package has no name
// for, and the adapter sends it back: reasoning that must be returned verbatim,
// signatures of calls. So a conversation can be stored as JSON and go on later.
package model
