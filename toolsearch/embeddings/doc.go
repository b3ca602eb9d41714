// Package embeddings implements toolsearch.Embedder over HTTP. It posts texts to {base}/embeddings
// in the form of OpenAI, which vLLM, llama.cpp, Ollama, LM Studio, text-embeddings-inference and
// most vendors support.
//
// A Client sends one request for each batch of texts, and reads at most 16 MiB of the response. It
// follows no redirects, as the key is meant for one address. Its errors contain neither the key nor
// the texts. It does not retry: an Index continues with words and calls it again later.
package embeddings
