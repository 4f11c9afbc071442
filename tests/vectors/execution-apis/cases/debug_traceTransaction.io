# trace-contract-call (kind)
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction","params":["0xc1d605c6612a5fe84dc95810030bfe5b1d327652b381bc695e28f50d13b2b09e"]}
<< {"jsonrpc":"2.0","id":1,"result":{}}
# trace-legacy-transfer (kind)
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction","params":["0x3fbac8b19b59077cd29bbacc3815d73577b45a4d976cae80b04c98c793684c07"]}
<< {"jsonrpc":"2.0","id":1,"result":{}}
