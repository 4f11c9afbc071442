# get-content (kind)
>> {"jsonrpc":"2.0","id":1,"method":"txpool_content"}
<< {"jsonrpc":"2.0","id":1,"result":{}}
