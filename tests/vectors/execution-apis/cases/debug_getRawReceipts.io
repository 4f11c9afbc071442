# get-genesis
>> {"jsonrpc":"2.0","id":1,"method":"debug_getRawReceipts","params":["0x0"]}
<< {"jsonrpc":"2.0","id":1,"result":[]}
# get-invalid-number
>> {"jsonrpc":"2.0","id":1,"method":"debug_getRawReceipts","params":["2"]}
<< {"jsonrpc":"2.0","id":1,"error":{"code":-32602}}
