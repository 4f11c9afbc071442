# trace-block-not-found
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByHash","params":["0x0000000000000000000000000000000000000000000000000000000000000001"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32000}}
# trace-block-with-transactions (kind)
>> {"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByHash","params":["0x80e911b62f552f563a2544dfef5eb39ec8863d9082c998ca6b657f76e19de38e"]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
