package main

import (
	"encoding/json"
	"log"
	"net/http"
	"net/http/pprof"
	"runtime"
)

// stats holds measurements of this process for a benchmark.
type stats struct {
	Mallocs    uint64 `json:"mallocs"`
	AllocBytes uint64 `json:"allocBytes"`
	HeapBytes  uint64 `json:"heapBytes"`
	StackBytes uint64 `json:"stackBytes"`
	Goroutines int    `json:"goroutines"`
}

func serveDebug(addr string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/stats", serveStats)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	log.Fatal(http.ListenAndServe(addr, mux))
}

func serveStats(w http.ResponseWriter, r *http.Request) {
	if r.FormValue("gc") != "" {
		runtime.GC()
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	json.NewEncoder(w).Encode(stats{m.Mallocs, m.TotalAlloc, m.HeapAlloc, m.StackInuse, runtime.NumGoroutine()})
}
