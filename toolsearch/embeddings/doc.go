// Package embeddings is a toolsearch.Embedder over HTTP: it posts texts to
// {base}/embeddings in the form that OpenAI gave it and that vLLM, llama.cpp,
// Ollama, LM Studio, text-embeddings-inference and most vendors speak.
//
// A Client does one request for each batch of texts, follows no redirect (the
// key is for one address), reads at most 16 MiB of an answer, and names neither
// the key nor the texts in its errors. It does not retry: an Index goes on by words and asks again later.
package embeddings
