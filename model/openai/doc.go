// Package openai speaks chat completions, the protocol of OpenAI and of nearly
// everybody else: DeepSeek, Qwen, Gemini's compatible endpoint, Mistral, Groq,
// OpenRouter, vLLM, llama.cpp, Ollama, LM Studio. [Presets] has what is known
// about each; any other needs a base URL.
//
// What the services disagree on is found out once and remembered: a server that
// refuses stream_options, or a tool, or max_completion_tokens, is asked again
// without.
//
// Members of messages and calls that the protocol does not know (reasoning,
// signatures) are kept in Extra under the provider's name, and go back to that
// provider as they came. Reasoning text goes back only within a turn that called
// tools, where providers need it or ignore it, and never where they refuse it.
package openai
