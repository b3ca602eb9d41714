// Package openai speaks chat completions, the protocol of OpenAI and of nearly every other
// provider: DeepSeek, Qwen, Gemini's compatible endpoint, Mistral, Groq, OpenRouter, vLLM,
// llama.cpp, Ollama, LM Studio. [Presets] has the properties of each; any other service needs a
// base URL.
//
// Differences between the services are found once and remembered. If a server refuses
// stream_options, a tool, or max_completion_tokens, the request is repeated without it.
//
// Members of messages and calls that the protocol does not define (reasoning, signatures) are kept
// in Extra under the provider's name, and returned unchanged to that provider. The text of
// reasoning is returned only within a turn that called tools, where providers need it or ignore it,
// and never if they refuse it.
package openai
