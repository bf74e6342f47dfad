// Memory outside of the collector's heap, for a plan. The collector starts when the heap has doubled, so a plan in the heap
// would make it start later than in a program with the cache alone. It would also look through the plan's pointers.

package measure

import (
	"os"
	"syscall"
	"unsafe"
)

// mapFile maps a file into memory, and reads it in at once.
func mapFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if about.Size() == 0 {
		return nil, nil
	}
	const how = syscall.MAP_PRIVATE | syscall.MAP_POPULATE
	mapped, err := syscall.Mmap(int(file.Fd()), 0, int(about.Size()), syscall.PROT_READ, how)
	if err != nil {
		return nil, &os.PathError{Op: "mmap", Path: name, Err: err}
	}
	return mapped, nil
}

// numbersOutside makes room for so many numbers.
func numbersOutside(count int) ([]uint64, []byte, error) {
	if count == 0 {
		return nil, nil, nil
	}
	const how = syscall.MAP_PRIVATE | syscall.MAP_ANON
	mapped, err := syscall.Mmap(-1, 0, 8*count, syscall.PROT_READ|syscall.PROT_WRITE, how)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&mapped[0])), count), mapped, nil
}

// unmap gives memory back. An error would leave it mapped, which is harmless.
func unmap(mapped []byte) {
	if len(mapped) > 0 {
		_ = syscall.Munmap(mapped)
	}
}
