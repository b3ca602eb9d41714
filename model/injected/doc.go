// Package injected gives tools to models that have no function calling: a
// manual of the tools goes into the system prompt, and calls are found in the
// text that the model writes, while it writes.
//
// The manual asks for one form, that of Hermes and Qwen: an object of JSON
// between <tool_call> tags. The scanner takes it with the usual faults of JSON
// (quotes, commas, brackets, comments, line breaks, Python's literals), and
// without its closing tag; the same object in a code fence; and the two forms of
// other models that reach a client as text:
//
//   - <function=name> with <parameter=name> tags, with and without <tool_call>
//     around it, as Qwen's coding models write it: they are no special tokens, and vLLM
//     returns them as content (github.com/vllm-project/vllm/issues/22975, 21571).
//   - <|python_tag|> and JSON, as Llama 3 writes it: vLLM prints this token though it
//     skips others (github.com/vllm-project/vllm/pull/11039), and so does llama.cpp that
//     runs with --special (github.com/ggml-org/llama.cpp/pull/9419).
//
// Other marks are not read. Those that are special tokens of their model, such as
// [TOOL_CALLS], do not arrive, as a request of this package names no tools: then
// llama.cpp does not print them (github.com/ggml-org/llama.cpp/issues/7106), and vLLM
// skips them, which its parsers switch off only for requests with tools
// (adjust_request in vllm/entrypoints/openai/tool_parsers/mistral_tool_parser.py).
// Models that have marks of their own call tools by themselves on these servers, and
// need no manual.
//
// What is no call stays text, and so do JSON without a mark, other code blocks, and a
// mark right behind a backtick. In a code fence a call counts only if its tool exists and
// it has arguments. Behind a mark a tool that does not exist is a call nevertheless, so
// that the host can tell the model. Thoughts between <think> tags become reasoning.
package injected
