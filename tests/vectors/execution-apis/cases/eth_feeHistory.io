# fee-history (kind)
>> {"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x1","0x1b",[95,99]]}
<< {"jsonrpc":"2.0","id":1,"result":{}}
