// Package injected adds tools to models without function calling. A manual of the tools goes into
// the system prompt, and calls are found in the model's text while it is generated.
//
// The manual asks for one form, that of Hermes and Qwen: a JSON object between <tool_call> tags.
// The scanner accepts it with the usual faults of JSON (quotes, commas, brackets, comments, line
// breaks, Python's literals), without its closing tag, and in a code fence. It also accepts two
// forms of other models that reach a client as text:
//
//   - <function=name> with <parameter=name> tags, optionally with <tool_call>
//     around it, as Qwen's coding models write it: the tags are not special tokens, and vLLM
//     returns them as content (github.com/vllm-project/vllm/issues/22975, 21571).
//   - <|python_tag|> and JSON, as Llama 3 writes it: vLLM prints this token although it
//     skips others (github.com/vllm-project/vllm/pull/11039), and so does llama.cpp if it
//     runs with --special (github.com/ggml-org/llama.cpp/pull/9419).
//
// Other marks are not recognized. Special tokens of a model, such as [TOOL_CALLS], do not arrive,
// because a request of this package has no tools. llama.cpp then does not print them
// (github.com/ggml-org/llama.cpp/issues/7106). vLLM skips them; its parsers disable that only for
// requests with tools (adjust_request in
// vllm/entrypoints/openai/tool_parsers/mistral_tool_parser.py). Models with marks of their own
// support tools on these servers and need no manual.
//
// Anything else stays text, including JSON without a mark, other code blocks, and a mark right
// after a backtick. In a code fence a call counts only if its tool exists and it has arguments.
// After a mark a call of an unknown tool also counts, so that the host can return an error to the
// model. Text between <think> tags becomes reasoning.
package injected
