// Package injected gives tools to models that have no function calling: a
// manual of the tools goes into the system prompt, and calls are found in the
// text that the model writes, while it writes.
//
// The manual asks for one form, that of Hermes and Qwen: an object of JSON
// between <tool_call> tags. Models write what they were trained on instead, or
// the form with damage, so the parser also takes code fences, XML tags of
// functions and parameters, the marks of Llama, Mistral, Kimi, DeepSeek, GLM and
// OpenAI's open models, calls as Python writes them, JSON without any mark, and
// JSON with the usual faults.
//
// What is no call stays text. Without a mark a call counts only if it is of a tool
// that exists and has arguments; in a code fence the tool must exist too. Behind a
// mark a tool that does not exist is a call nevertheless, so that the host can
// tell the model. Thoughts between <think> tags become reasoning.
package injected
