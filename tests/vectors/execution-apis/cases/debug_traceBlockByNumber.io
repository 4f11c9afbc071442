# trace-block-invalid-number
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["3"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602}}
# trace-block-memory-encoding (kind)
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x1",{"disableStack":false,"disableStorage":false,"enableMemory":true,"enableReturnData":true}]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
# trace-block-storage-snapshot-timing (kind)
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x2",{"disableStack":false,"disableStorage":false,"enableMemory":false,"enableReturnData":true}]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
# trace-block-with-transactions (kind)
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x1"]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
# trace-genesis
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x0"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000}}
