package learn

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Arithmetic returns a number that tells machines apart that come to other bits from the same outcomes:
// processors differ in whether they round between a product and a sum, and the mathematical functions of
// one system from those of another in the last digit.
func Arithmetic() uint32 {
	var bits []byte
	sum := 0.0
	for i := range 64 {
		x := 0.37 + float64(i)*0.113
		for _, y := range []float64{exp(-x), math.Exp(-x), math.Exp2(x), math.Expm1(-x), math.Log(x), math.Log1p(x), math.Pow(x, 0.7), math.Sqrt(x)} {
			sum = sum*0.9 + x*y
			bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(y))
		}
		bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(sum))
	}
	return crc32.ChecksumIEEE(bits)
}
