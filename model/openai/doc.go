// Package openai implements chat completions, the protocol of OpenAI and of nearly every other
// provider: DeepSeek, Qwen, Gemini's compatible endpoint, Mistral, Groq, OpenRouter, vLLM,
// llama.cpp, Ollama, LM Studio. [Presets] has the properties of each; any other service needs a
// base URL.
//
// The adapter detects and remembers differences between services. If a server refuses
// stream_options, a tool, or max_completion_tokens, the request is repeated without it.
//
// Members of messages and calls that the protocol does not define (reasoning, signatures) are kept
// in Extra under the provider's name, and sent back unchanged to that provider. The text of
// reasoning is sent back only within a turn that called tools, where providers need it or ignore
// it. It is never sent to a provider that refuses it.
package openai
