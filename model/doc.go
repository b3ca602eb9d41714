// Package model provides one small interface for language models. A model takes a conversation and
// a list of tools, and returns the next message, piece by piece while it is generated.
//
// Each adapter is a package: model/openai for chat completions (OpenAI and compatible services),
// model/responses for OpenAI's newer API, and model/anthropic for messages. Package model/injected
// is for models without function calling. Package model/offline is not a language model, and needs
// neither network nor key.
//
// A message keeps data of its provider that this package has no field for, such as reasoning that
// must be returned verbatim and signatures of calls. The adapter sends this data back. So a
// conversation can be stored as JSON and continued later.
package model
