// An agent in Go, by cgo: a callback in Go that waits for another goroutine, and goroutines on threads of their own that store
// instances. The C library allows one thread at a time, so a mutex is around each call.
package main

/*
#cgo LDFLAGS: -lpcp_pmda -lpcp
#include <stdlib.h>
#include "agent.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"unsafe"
)

var (
	library sync.Mutex
	asked   = make(chan uint32)
	answers = make(chan uint64)
	calls   uint64
)

//export goFetch
func goFetch(metric *C.pmdaMetric, inst C.uint, atom *C.pmAtomValue) C.int {
	value := (*C.ulonglong)(unsafe.Pointer(atom))
	if metric.m_desc.indom == C.PM_INDOM_NULL {
		calls++
		*value = C.ulonglong(calls)
		return C.PMDA_FETCH_STATIC
	}
	// The callback's own call of the library, and a wait in which Go may run other goroutines on this thread.
	var name *C.char
	if status := C.pmdaCacheLookup(C.agent_indom(), C.int(inst), &name, nil); status != C.PMDA_CACHE_ACTIVE {
		return status
	}
	asked <- uint32(len(C.GoString(name)))
	*value = C.ulonglong(<-answers)
	return C.PMDA_FETCH_STATIC
}

func store(worker int, done *sync.WaitGroup) {
	runtime.LockOSThread()
	defer done.Done()
	for i := 0; i < C.NAMES; i++ {
		name := C.CString(fmt.Sprintf("worker%d-instance%d", worker, i))
		library.Lock()
		status := C.pmdaCacheStore(C.agent_indom(), C.PMDA_CACHE_ADD, name, nil)
		library.Unlock()
		C.free(unsafe.Pointer(name))
		if status < 0 {
			fmt.Println("store:", status)
			os.Exit(1)
		}
	}
}

func main() {
	agent := C.agent_new()
	if agent == nil {
		fmt.Println("pmdaInit failed")
		os.Exit(1)
	}
	go func() {
		for length := range asked {
			answers <- uint64(length) + 1
		}
	}()
	var done sync.WaitGroup
	for worker := 0; worker < C.WORKERS; worker++ {
		done.Add(1)
		go store(worker, &done)
	}
	done.Wait()
	for round := 0; round < 3; round++ {
		var sum C.ulonglong
		library.Lock()
		count := C.agent_fetch(agent, &sum)
		library.Unlock()
		runtime.GC()
		fmt.Println("fetch", round, "has", count, "values, their sum is", sum)
	}
	fmt.Println("active:", C.pmdaCacheOp(C.agent_indom(), C.PMDA_CACHE_SIZE_ACTIVE), "single calls:", calls)
}
